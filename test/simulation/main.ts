import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { PLANTED_BUGS } from './bugs.ts'
import { simulateMany } from './run-many.ts'
import { simulate } from './world.ts'

const HELP = `npm run simulate -- [options]

  --seeds N     how many seeds to run (default 10000)
  --from N      the first seed (default 1)
  --seed N      run this one seed and print its story
  --bug TEXT    with --seed: plant the bug whose name contains TEXT
  --help`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    story: { type: 'boolean', default: false },
    bug: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) console.log(HELP)
else if (values.seed !== undefined) await replay(number('--seed', values.seed))
else await many(number('--from', values.from), number('--seeds', values.seeds))

async function replay(seed: number): Promise<void> {
  const bug = values.bug === undefined ? undefined : PLANTED_BUGS.find(({ name }) => name.includes(values.bug ?? ''))
  if (values.bug !== undefined && !bug) throw new Error(`no planted bug named like "${values.bug}"`)
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
    throw new Error(`${option}: expected a whole number of at least 1, got "${text}"`)
  return value
}
