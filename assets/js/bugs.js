// Spot the bug: mistakes of tutorials, from symptom to reveal.

export function mount() {}
