export interface Page {
  limit: number
  /** Opaque; from the previous answer's `nextCursor`. */
  cursor?: string
}

export interface PageOf<T> {
  items: T[]
  nextCursor: string | null
}

/** Every row of a list, page after page. */
export async function* everyRow<T>(list: (page: Page) => Promise<PageOf<T>>): AsyncGenerator<T> {
  for (let page: Page | null = { limit: 200 }; page !== null; ) {
    const { items, nextCursor } = await list(page)
    yield* items
    page = nextCursor === null ? null : { ...page, cursor: nextCursor }
  }
}
