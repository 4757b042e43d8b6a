import { randomUUID } from 'node:crypto'
import { createDatabase, dropDatabase } from './launcher.ts'

/** The variable through which `global-setup.ts` tells every test process where the server of this run is. */
export const TEST_POSTGRES_VARIABLE = 'PILLARBOX_TEST_POSTGRES'

/** The variable with the name of a migrated database on that server, to make copies of. */
export const TEST_TEMPLATE_VARIABLE = 'PILLARBOX_TEST_TEMPLATE'

export type FreshDatabase = {
  readonly url: string
  /** Drops the database, whoever is still connected. */
  drop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** An empty database (or a copy of `template`) that no other test uses, on the server of this test run. */
export async function freshDatabase({ template }: { template?: string } = {}): Promise<FreshDatabase> {
  const adminUrl = testServerUrl()
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const url = await createDatabase(adminUrl, name, template)
  const drop = (): Promise<void> => dropDatabase(adminUrl, name)
  return { url, drop, [Symbol.asyncDispose]: drop }
}

/** A database that no other test uses, with the product's schema and no rows. */
export async function migratedDatabase(): Promise<FreshDatabase> {
  return await freshDatabase({ template: given(TEST_TEMPLATE_VARIABLE) })
}

/** The superuser's URL on the server of this test run. */
function testServerUrl(): string {
  return given(TEST_POSTGRES_VARIABLE)
}

function given(variable: string): string {
  const value = process.env[variable]
  if (value === undefined) throw new Error(`${variable} is not set: run tests with "npm run test:file -- <file>"`)
  return value
}
