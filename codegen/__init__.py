"""The workshop: turns schemas/ into src/hindsight_bank/_generated/. Never imported by the package, not in the wheel."""
