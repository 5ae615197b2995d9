// Plays the clips of a page, proves that they were heard, opens the questions then, and saves what is answered.
// The server holds every page's state; what is kept here is only what has not been sent yet.

const HEARD = 0.97;
const BEAT_MS = 30_000;
const ACTIVE_MS = 60_000;
const WATCH_MS = 5000;
const WARN_S = 120;
const RETRIES_MS = [1000, 2000, 4000, 8000, 15_000];
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

class Clip {
  constructor(element, changed) {
    this.element = element;
    this.role = element.dataset.role;
    this.button = element.querySelector('.play');
    this.state = element.querySelector('.state');
    this.retry = element.querySelector('.retry');
    this.heard = 'heard' in element.dataset;
    this.ready = false;
    this.plays = 0;
    this.rate = 1;
    this.changed = changed;
    this.audio = new Audio();
    this.audio.preload = 'auto';
    this.button.addEventListener('click', () => this.toggle());
    this.retry.addEventListener('click', () => this.load());
    for (const name of ['play', 'pause', 'ended']) this.audio.addEventListener(name, () => this.show());
    this.audio.addEventListener('ended', () => this.ended());
    this.audio.addEventListener('timeupdate', () => this.draw());
    this.audio.addEventListener('ratechange', () => this.atSpeed());
    this.audio.addEventListener('error', () => this.fail());
    this.load();
  }

  async load() {
    this.ready = false;
    this.retry.hidden = true;
    this.element.classList.remove('failed');
    this.say('loading');
    for (const pause of [0, ...RETRIES_MS.slice(0, 3)]) {
      await wait(pause);
      try {
        const response = await fetch(this.element.dataset.src, { credentials: 'same-origin' });
        if (response.ok) return this.take(await response.blob());
        if (response.status < 500 && response.status !== 429) break;
      } catch { /* the connection; try again */ }
    }
    this.fail();
  }

  take(blob) {
    this.audio.src = URL.createObjectURL(blob);
    this.ready = true;
    this.button.disabled = false;
    this.show();
    this.changed(this);
  }

  fail() {
    if (!this.ready && this.element.classList.contains('failed')) return;
    this.ready = false;
    this.button.disabled = true;
    this.element.classList.add('failed');
    this.retry.hidden = false;
    this.say('failed');
    this.changed(this);
  }

  async toggle() {
    if (!this.ready) return;
    if (!this.audio.paused) return this.audio.pause();
    Clip.all.forEach((other) => other !== this && other.audio.pause());
    if (this.audio.ended) this.audio.currentTime = 0;
    try {
      await this.audio.play();
    } catch (error) {
      if (error.name !== 'AbortError') this.say('blocked');
    }
  }

  // another speed is no listening: what was played of the clip counts anew from its start
  atSpeed() {
    if (this.audio.playbackRate === 1) return;
    this.rate = this.audio.playbackRate;
    this.audio.pause();
    this.audio.defaultPlaybackRate = 1;
    this.audio.load();
  }

  coverage() {
    const { played, duration } = this.audio;
    if (!duration || !isFinite(duration)) return 0;
    let sum = 0;
    for (let i = 0; i < played.length; i += 1) sum += played.end(i) - played.start(i);
    return Math.min(1, sum / duration);
  }

  ended() {
    this.plays += 1;
    if (this.coverage() >= HEARD) {
      this.heard = true;
      this.rate = 1;
    }
    this.show();
    this.changed(this);
  }

  claim() {
    return { coverage: Number(this.coverage().toFixed(4)), plays: this.plays, rate: this.rate };
  }

  draw() {
    const { currentTime, duration, ended } = this.audio;
    const share = duration && isFinite(duration) && !ended ? currentTime / duration : 0;
    this.element.querySelector('.bar > span').style.transform = `scaleX(${share})`;
  }

  show() {
    const playing = !this.audio.paused && !this.audio.ended;
    const verb = this.button.querySelector('.verb');
    verb.textContent = playing ? verb.dataset.pause : verb.dataset.play;
    this.element.classList.toggle('playing', playing);
    this.element.classList.toggle('heard', this.heard);
    if (!this.element.classList.contains('failed')) this.say(this.heard ? 'heard' : 'ready');
    this.draw();
  }

  say(what) {
    if (this.state.textContent !== this.state.dataset[what]) this.state.textContent = this.state.dataset[what];
  }
}
Clip.all = [];

const form = document.querySelector('form[data-listen]');
const task = document.querySelector('[data-task]');
const gate = document.querySelector('.gate');
const answers = form?.querySelector('.answers');
let lastActive = Date.now();

const played = () => JSON.stringify(Object.fromEntries(Clip.all.map((clip) => [clip.role, clip.claim()])));

function open(clip) {
  const ready = Clip.all.length > 0 && Clip.all.every((one) => one.ready && one.heard);
  if (answers.disabled === ready) {
    answers.disabled = !ready;
    gate.classList.toggle('open', ready);
    if (ready) gate.textContent = gate.dataset.open;
  }
  if (task && clip.heard) beat();
}

// --- the lease ---------------------------------------------------------------------------------------------------------

let leaseEnds = task && 'left' in task.dataset ? performance.now() + Number(task.dataset.left) * 1000 : null;
let over = false;

async function beat() {
  if (over) return;
  const body = new URLSearchParams({ nonce: task.dataset.task, played: played() });
  try {
    const response = await fetch('/beat', { method: 'POST', body, credentials: 'same-origin' });
    if (!response.ok) return;
    const told = await response.json();
    if (told.over) return endTask();
    leaseEnds = told.left_s === null ? null : performance.now() + told.left_s * 1000;
    watch();
  } catch { /* the connection; the next beat tells */ }
}

function endTask() {
  over = true;
  const banner = document.querySelector('.unsaved');
  banner.textContent = banner.dataset.over;
  banner.hidden = false;
  document.querySelector('.lease').hidden = true;
}

function watch() {
  const left = leaseEnds === null ? Infinity : (leaseEnds - performance.now()) / 1000;
  document.querySelector('.lease').hidden = over || left > WARN_S;
}

function tick() {
  const busy = Clip.all.some((clip) => !clip.audio.paused) || Date.now() - lastActive < ACTIVE_MS;
  if (busy) beat();
}

// --- saving ------------------------------------------------------------------------------------------------------------

const draft = form?.dataset.page ? `draft ${form.dataset.page}` : null;

function keepDraft() {
  const kept = [...new FormData(form)].filter(([name]) => name.startsWith('q.') || name === 'comment');
  try { sessionStorage.setItem(draft, JSON.stringify(kept)); } catch { /* a private window */ }
}

function restoreDraft() {
  let kept = [];
  try { kept = JSON.parse(sessionStorage.getItem(draft) ?? '[]'); } catch { /* a private window */ }
  for (const [name, value] of kept) {
    const field = form.elements[name];
    if (field && !field.value) field.value = value;
  }
}

async function save(event) {
  event.preventDefault();
  const button = form.querySelector('button.main');
  if (button.disabled) return;
  form.elements.played && (form.elements.played.value = played());
  const body = new URLSearchParams(new FormData(form));
  const label = button.textContent;
  button.disabled = true;
  if (button.dataset.busy) button.textContent = button.dataset.busy;
  const banner = document.querySelector('.unsaved');
  for (let attempt = 0; ; attempt += 1) {
    const status = await send(body);
    if (status === 0) {
      if (draft) try { sessionStorage.removeItem(draft); } catch { /* a private window */ }
      return location.assign('/');
    }
    if (status > 0 && status < 500 && status !== 429) {
      // the server has something to say: let the browser show its page
      button.textContent = label;
      button.disabled = false;
      return form.submit();
    }
    if (banner) banner.hidden = false;
    await wait(RETRIES_MS[Math.min(attempt, RETRIES_MS.length - 1)]);
  }
}

// 0 where it is saved, the status of a refusal, -1 without a connection
async function send(body) {
  try {
    const options = { method: 'POST', body, credentials: 'same-origin', redirect: 'manual' };
    const response = await fetch(form.action, options);
    return response.type === 'opaqueredirect' ? 0 : response.status;
  } catch {
    return -1;
  }
}

// --- keys --------------------------------------------------------------------------------------------------------------

function question() {
  const focused = document.activeElement?.closest('.question');
  const all = [...document.querySelectorAll('.question')];
  return focused ?? all.find((one) => !one.querySelector(':checked')) ?? null;
}

function press(event) {
  lastActive = Date.now();
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('textarea, input[type=text]')) return;
  // Enter in a radio would send the form half-filled
  if (event.key === 'Enter' && event.target.matches('input[type=radio]')) return event.preventDefault();
  if (document.body.dataset.shortcuts !== 'on' || event.target.closest('.problem')) return;
  const clip = Clip.all.find((one) => one.element.dataset.key === event.key.toUpperCase());
  if (clip) {
    event.preventDefault();
    return clip.toggle();
  }
  if (!/^[1-7]$/.test(event.key) || answers.disabled) return;
  const choice = question()?.querySelectorAll('input[type=radio]')[Number(event.key) - 1];
  if (!choice) return;
  event.preventDefault();
  choice.focus();
  choice.click();
}

// --- begin -------------------------------------------------------------------------------------------------------------

document.addEventListener('keydown', press);
document.addEventListener('pointerdown', () => { lastActive = Date.now(); });
addEventListener('pagehide', () => Clip.all.forEach((clip) => clip.audio.pause()));
addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
if (form) {
  form.addEventListener('submit', save);
  if (draft) {
    restoreDraft();
    form.addEventListener('input', keepDraft);
  }
  for (const element of document.querySelectorAll('.clip')) Clip.all.push(new Clip(element, open));
}
if (task) {
  document.querySelector('.still').addEventListener('click', () => { lastActive = Date.now(); beat(); });
  setInterval(tick, BEAT_MS);
  setInterval(watch, WATCH_MS);
  watch();
}
