import { createRequire } from 'node:module'

/** This package's version, for the API's description, the logs and the workers table. */
export const VERSION: string = (createRequire(import.meta.url)('../package.json') as { version: string }).version
