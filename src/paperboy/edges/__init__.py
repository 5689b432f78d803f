"""The edges of the process: replies, files, text and templates from outside, bounded; locks and
tokens.
"""
