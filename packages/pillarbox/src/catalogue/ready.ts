import { readdirSync, readFileSync } from 'node:fs'

/** The catalogues that ship with the product: ready to be given to a tenant by name. */
export interface ReadyCatalogues {
  names(): string[]
  /** The YAML document of that name; null where there is none. */
  document(name: string): string | null
}

const FOLDER = new URL('./ready/', import.meta.url)

/** Reads them from beside this file, in a checkout and in a built package alike. */
export const readyCatalogues: ReadyCatalogues = {
  names: () =>
    readdirSync(FOLDER)
      .flatMap((file) => /^([a-z][a-z0-9-]*)\.yaml$/.exec(file)?.[1] ?? [])
      .sort(),
  // Only a name that is in the list becomes part of a path.
  document: (name) =>
    readyCatalogues.names().includes(name) ? readFileSync(new URL(`${name}.yaml`, FOLDER), 'utf8') : null,
}
