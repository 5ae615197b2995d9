"""Tables, page and charts of a board; sealed releases."""
