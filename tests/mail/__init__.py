"""Tests of `paperboy.mail`."""
