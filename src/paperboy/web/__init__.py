"""The site for readers: its server and the unsubscribe page. Features add the other pages."""
