"""How the whole suite runs: which worker gets which tests, and what none may leave behind."""
