import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { simulate } from './simulate.ts'

export interface Failure {
  seed: number
  violations: string[]
}

/** Runs `count` seeds from `from`, shared by several processes, and answers those that broke a promise. */
export async function simulateMany(work: {
  from: number
  count: number
  processes: number
  onProgress?: (done: number) => void
}): Promise<Failure[]> {
  let done = 0
  const share = Math.ceil(work.count / work.processes)
  const parts = Array.from({ length: work.processes }, (_, i) => ({
    from: work.from + i * share,
    count: Math.min(share, work.count - i * share),
  }))
  const answers = await Promise.all(
    parts.map((part) =>
      runPart(part.from, part.count, (step) => {
        done += step
        work.onProgress?.(done)
      }),
    ),
  )
  return answers.flat().sort((a, b) => a.seed - b.seed)
}

async function runPart(from: number, count: number, step: (seeds: number) => void): Promise<Failure[]> {
  const child = spawn(
    process.execPath,
    ['--conditions=source', fileURLToPath(import.meta.url), String(from), String(count)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const failures: Failure[] = []
  let rest = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const said = JSON.parse(line) as Failure | { step: number }
      if ('step' in said) step(said.step)
      else failures.push(said)
    }
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the simulation of seeds ${from}… ended with code ${code}`)
  return failures
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [from, count] = process.argv.slice(2).map(Number) as [number, number]
  const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
  for (let i = 0; i < count; i++) {
    const { plan, violations } = await simulate(from + i)
    if (violations.length) say({ seed: plan.seed, violations })
    if ((i + 1) % 50 === 0 || i + 1 === count) say({ step: (i % 50) + 1 })
  }
}
