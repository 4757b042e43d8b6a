import type { Outcome } from '../model/outcome.ts'

/** A vendor's own package, or that it is not there: then the account cannot send until somebody installs it. */
export type Sdk<Module> = { kind: 'sdk'; module: Module } | Extract<Outcome, { kind: 'unauthorized' }>

/** Vendors' packages need not be installed: each is loaded when an account first needs it, and then kept. */
export function optionalSdk<Module>(name: string, load: () => Promise<Module>): () => Promise<Sdk<Module>> {
  let loaded: Promise<Module> | null = null
  return async () => {
    loaded ??= load()
    try {
      return { kind: 'sdk', module: await loaded }
    } catch (error) {
      loaded = null
      const isMissing = (error as { code?: unknown } | null)?.code === 'ERR_MODULE_NOT_FOUND'
      const words = isMissing ? 'is not installed' : `cannot be loaded (${String(error)})`
      return {
        kind: 'unauthorized',
        code: 'sdk_missing',
        error: `${name} ${words}: install it with npm install ${name}`,
      }
    }
  }
}
