"""`python -m neuronwatch`."""

import sys

from neuronwatch.cli.main import main

sys.exit(main())
