import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The console is served by the API's own process, under a policy that lets in nothing but these files. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: { outDir: 'dist', emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { '/api': 'http://127.0.0.1:4400', '/ops': 'http://127.0.0.1:4400' } },
})
