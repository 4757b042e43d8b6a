import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from './environment.ts'

/** A short fingerprint of the measured code. Samples of different code must not be put into one median. */
export function sourcesHash(): string {
  const hash = createHash('sha256')
  const workspace = path.dirname(ROOT)
  const files = globSync('packages/{client,pillarbox,vendors}/src/**/*.ts', { cwd: workspace }).filter(
    (file) => !file.endsWith('.test.ts'),
  )
  for (const file of files.toSorted()) hash.update(file).update(readFileSync(path.join(workspace, file)))
  return hash.digest('hex').slice(0, 12)
}
