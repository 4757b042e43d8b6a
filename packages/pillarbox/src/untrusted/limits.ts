/**
 * What one piece of a stranger's work may take. Processor time is counted, not the time on the clock: a busy machine must
 * not make a harmless template fail.
 */
export const ITEM_MS = 250
/** Of one message: a child that has used it up answers what it has done, and the rest waits for its next turn. */
export const MESSAGE_MS = 1_000
/** An item that takes so much of what it may is to blame where its message could not be done in one go. */
export const SLOW_MS = ITEM_MS / 2
/** A catalogue as large as one may be takes a second to read, apart from its schemas and templates. */
export const READING_MS = 3_000
/** Of all schemas and templates of a catalogue together. */
export const PARTS_MS = 5_000
/** Of a child process, apart from what it needs to run at all. */
export const HEAP_MB = 96
/** On the clock, for one message: a child that is stopped, or gets no processor at all, must not be waited for. */
export const SILENCE_MS = 10_000

/** Called as a task begins with a part of its work: what the part is, where that helps to say what is wrong with it. */
export type Mark = (limitMs: number, part?: string) => void
