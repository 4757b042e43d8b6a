import type { PageOf } from './api.ts'

/** The server looks at ten thousand rows for each. */
const MOST_PAGES = 10

/**
 * The first page of a list that has something on it. A page may be empty and still not be the last: the server looks at so many
 * rows for one, and says where to go on.
 */
export async function firstFound<T>(read: (cursor: string | undefined) => Promise<PageOf<T>>): Promise<PageOf<T>> {
  let page = await read(undefined)
  for (let asked = 1; asked < MOST_PAGES && page.items.length === 0 && page.nextCursor !== null; asked++)
    page = await read(page.nextCursor)
  return page
}
