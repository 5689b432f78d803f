"""Scoring: the LLM, the embedded scorer where there is none, and what it costs; and the morning in
brief, which the LLM writes.
"""
