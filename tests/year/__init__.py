"""A simulated year: the world it takes place in, its script, and what it has to prove."""
