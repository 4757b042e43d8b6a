import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api.ts'

/** What was read stays on the page when a later read fails; the page says that it is old. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
})
