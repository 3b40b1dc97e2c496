"""`python -m transformer.corpus` prints sentences of the classroom's grammar, to be read through."""

import sys

from .classroom import main

main(sys.argv[1:])
