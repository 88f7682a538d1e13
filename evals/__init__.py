"""The evaluation of a model: what is asked (data/), what was seen, what it is worth, and the page that says so."""
