"""A digest as mail: rendered and serialised. `sending` hands it over."""
