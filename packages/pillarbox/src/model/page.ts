export interface Page {
  limit: number
  /** Opaque; from the previous answer's `nextCursor`. */
  cursor?: string
}

export interface PageOf<T> {
  items: T[]
  nextCursor: string | null
}
