import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './app/console.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { applyDensity } from './app/preferences.ts'
import { queries } from './app/queries.ts'
import { router } from './app/router.tsx'
import { cssVariables, theme } from './app/theme.ts'

/** The server lets in style elements that carry this, and no others. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''
Object.assign(globalThis, { __webpack_nonce__: nonce })

applyDensity()

const root = document.getElementById('root')
if (root)
  createRoot(root).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
        cssVariablesResolver={cssVariables}
      >
        <QueryClientProvider client={queries}>
          <Notifications position="bottom-right" limit={4} />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  )
