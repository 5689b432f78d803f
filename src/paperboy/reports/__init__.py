"""Reports: status, problems and alerts, for people and programs."""
