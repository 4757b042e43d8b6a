/** What the engine takes from this package: the rules for an event and their checker. Hosts have no need of it. */
export { type CheckedEvent, type CheckedRecipient, checkEvent, instantMs } from './check-event.ts'
export * from './event-rules.ts'
export { checkJson, type Problem, textProblem } from './json-text.ts'
