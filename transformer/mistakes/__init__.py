"""Mistakes that circulate in tutorials of this model: of decoding, and of training."""

from .decoding import DECODING_MISTAKES
from .mistake import DecodingMistake, Learned, Learning, Mistake, Side, Symptom, TrainingMistake
from .training import TRAINING_MISTAKES

MISTAKES: dict[str, TrainingMistake | DecodingMistake] = {
    mistake.name: mistake for mistake in (*TRAINING_MISTAKES, *DECODING_MISTAKES)
}
