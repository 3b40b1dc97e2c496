"""`python -m transformer.data.classroom` prints sentences of the classroom's grammar, for proofreading."""

import sys

from .corpus import main

main(sys.argv[1:])
