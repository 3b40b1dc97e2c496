"""The application: its guard, the page's routes, files, actions for programs, and trainings on a Space's GPU."""
