"""Hostile replies, drawn from a seed, to each thing that Paperboy asks over the network: arXiv, LLM, SMTP and DNS."""
