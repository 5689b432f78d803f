"""The readers' room: its server, and the page where they leave a list. Features bring the other
pages.
"""
