import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { PLANTED_BUGS, type PlantedBug } from './planted-bugs.ts'
import { simulate } from './simulate.ts'
import { simulateMany } from './simulate-many.ts'

const HELP = `npm run simulate -- [options]

  --seeds N     how many seeds to run (default 10000; with --bug: 3000, until one catches it)
  --from N      the first seed (default 1)
  --seed N      run this one seed and print its story
  --bug TEXT    plant the bug whose name contains TEXT
  --bugs        list the bugs that can be planted
  --help`

/** What the user can mend: told in a line, without a stack. */
class UsageError extends Error {}

try {
  await main()
} catch (error) {
  const isUsage = error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')
  if (!isUsage) throw error
  console.error(`${(error as Error).message}\n\n${HELP}`)
  process.exitCode = 1
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      bug: { type: 'string' },
      bugs: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  if (values.bugs) return console.log(PLANTED_BUGS.map(({ name }) => name).join('\n'))
  const bug = values.bug === undefined ? null : bugNamed(values.bug)
  if (values.seed !== undefined) return replay(number('--seed', values.seed), bug)
  const from = number('--from', values.from)
  return bug
    ? hunt(bug, from, number('--seeds', values.seeds ?? '3000'))
    : many(from, number('--seeds', values.seeds ?? '10000'))
}

function bugNamed(text: string): PlantedBug {
  const found = PLANTED_BUGS.filter(({ name }) => name.includes(text))
  const [bug] = found
  if (bug && found.length === 1) return bug
  const problem = bug ? `"${text}" names ${found.length} planted bugs` : `no planted bug is named like "${text}"`
  throw new UsageError(`${problem}. There are:\n${PLANTED_BUGS.map(({ name }) => `  ${name}`).join('\n')}`)
}

async function replay(seed: number, bug: PlantedBug | null): Promise<void> {
  const { plan, story, violations, trace, steps, virtualMs } = await simulate(seed, {
    story: true,
    ...(bug ? { bug } : {}),
  })
  console.log(JSON.stringify({ ...plan, accountNames: Object.fromEntries(plan.accountNames) }, null, 2))
  for (const line of story) console.log(line)
  console.log(`seed ${seed}: ${steps} steps, ${(virtualMs / 1_000).toFixed(1)} s of virtual time, trace ${trace >>> 0}`)
  for (const violation of violations) console.log(`BROKEN  ${violation}`)
  if (violations.length) process.exitCode = 1
}

/** The first seed that catches a planted bug: there it should be found, so that not finding it is the failure. */
async function hunt(bug: PlantedBug, from: number, count: number): Promise<void> {
  for (let seed = from; seed < from + count; seed++) {
    const { violations } = await simulate(seed, { bug })
    if (violations.length === 0) continue
    console.log(`caught by seed ${seed}: ${violations.join('; ')}`)
    return console.log(`its story: npm run simulate -- --seed ${seed} --bug "${bug.name}"`)
  }
  console.log(`not caught in ${count} schedules: ${bug.name}`)
  process.exitCode = 1
}

async function many(from: number, count: number): Promise<void> {
  const begun = performance.now()
  const failures = await simulateMany({
    from,
    count,
    processes: Math.max(1, Math.min(cpus().length, count)),
    onProgress(done) {
      if (process.stdout.isTTY) process.stdout.write(`\r${done} of ${count} schedules`)
    },
  })
  const seconds = (performance.now() - begun) / 1_000
  console.log(
    `${process.stdout.isTTY ? '\r' : ''}${count} schedules in ${seconds.toFixed(1)} s, ${failures.length} broken`,
  )
  for (const { seed, violations } of failures.slice(0, 20)) console.log(`seed ${seed}: ${violations.join('; ')}`)
  if (failures.length) {
    console.log(`replay one: npm run simulate -- --seed ${failures[0]?.seed}`)
    process.exitCode = 1
  }
}

function number(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new UsageError(`${option}: expected a whole number of at least 1, got "${text}"`)
  return value
}
