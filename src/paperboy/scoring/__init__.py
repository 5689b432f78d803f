"""Scoring: the LLM, the embedded scorer where there is none, and what it costs."""
