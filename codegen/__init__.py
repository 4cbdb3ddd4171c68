"""The workshop: turns schemas/ into src/hindsight_bank/_generated/. Never imported by the package, never shipped."""
