"""The `App`, which builds all real parts; the daemon and its tasks; what people and systemd are
told.
"""
