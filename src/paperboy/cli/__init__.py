"""The commands, a file each. They read the environment and hand the features to the `App`."""
