import type { Clock } from '../model/ports.ts'
import type { CliDeps } from './call.ts'
import { cut } from './words.ts'

/** How far long work has come, for whoever watches. */
export interface ShownProgress {
  at(done: number, remark?: string): void
  end(): void
}

const BAR_WIDTH = 30
const DEFAULT_COLUMNS = 80
const ESCAPE = '\u001b'
/** What was written on the line before goes away where the new text is shorter. */
const REST_OF_LINE = `${ESCAPE}[K`

/** One line that is drawn anew, for a terminal. */
export function progressBar(stdout: CliDeps['stdout'], total: number, noun = 'rows'): ShownProgress {
  const draw = (done: number, remark?: string): void => {
    const share = total === 0 ? 1 : Math.min(1, done / total)
    const filled = Math.round(share * BAR_WIDTH)
    const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`
    const line = `${bar} ${Math.floor(share * 100)} %  ${done} of ${total} ${noun}${remark === undefined ? '' : `  ${remark}`}`
    // A line that wraps cannot be drawn over.
    stdout.write(`\r${cut(line, (stdout.columns ?? DEFAULT_COLUMNS) - 1)}${remark === undefined ? '' : REST_OF_LINE}`)
  }
  draw(0)
  return { at: draw, end: () => stdout.write('\n') }
}

/** How often a line says how far it is, where nothing can be drawn. */
const LINE_EVERY_MS = 5_000

export function progressLines(write: (text: string) => void, clock: Clock, noun = 'rows'): ShownProgress {
  let saidAt = clock.monotonic()
  return {
    at(done, remark) {
      if (clock.monotonic() - saidAt < LINE_EVERY_MS) return
      saidAt = clock.monotonic()
      write(`${done} ${noun} so far${remark === undefined ? '' : `, ${remark}`}\n`)
    },
    end() {},
  }
}
