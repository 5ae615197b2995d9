'use strict';
for (const button of document.querySelectorAll('th button')) {
  button.disabled = false;
  button.addEventListener('click', () => sortBy(button.closest('th')));
}
const keyOf = cell => {
  const text = cell.dataset.v ?? '';
  return text === '' || !Number.isFinite(Number(text)) ? null : Number(text);
};
function sortBy(head) {
  const table = head.closest('table'), column = head.cellIndex;
  const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
  for (const other of head.parentNode.cells) if (other.hasAttribute('aria-sort')) other.setAttribute('aria-sort', 'none');
  head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
  const numeric = head.dataset.kind === 'number';
  for (const body of table.tBodies) {
    const rows = [...body.rows].map(row => [numeric ? keyOf(row.cells[column]) : row.cells[column].innerText.trim(), row]);
    rows.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null)
      : sign * (numeric ? a - b : a.localeCompare(b)));
    body.append(...rows.map(([, row]) => row));
  }
}
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(part => { part.open = true; }));
