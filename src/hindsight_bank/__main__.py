"""`python -m hindsight_bank`: the command line."""

import sys

from hindsight_bank.cli import main

sys.exit(main())
