"""`python -m hindsight_bank`: the command line."""

import sys

from hindsight_bank_command import main

sys.exit(main())
