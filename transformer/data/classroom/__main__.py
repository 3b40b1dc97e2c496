"""`python -m transformer.data.classroom` prints sentences of the classroom's grammar, to be read through."""

import sys

from .corpus import main

main(sys.argv[1:])
