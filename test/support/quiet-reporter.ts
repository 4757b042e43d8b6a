import { Readable } from 'node:stream'
import { spec } from 'node:test/reporters'

type ReporterEvent = { type: string; data: unknown }

/** Node's own `spec` report without the lines of tests that pass: failures in full, what tests print, the counts. */
export default async function* quietReporter(events: AsyncIterable<ReporterEvent>): AsyncGenerator<unknown> {
  yield* Readable.from(withoutPasses(events)).pipe(new spec())
}

async function* withoutPasses(events: AsyncIterable<ReporterEvent>): AsyncGenerator<ReporterEvent> {
  for await (const event of events) {
    // A kept `test:start` would wait for the result that is left out here.
    if (event.type !== 'test:start' && event.type !== 'test:pass') yield event
  }
}
