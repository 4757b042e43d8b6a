import { type CSSVariablesResolver, createTheme } from '@mantine/core'

/** One accent, one type scale, close lines: for people who look at it all day. */
export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 7, dark: 7 },
  autoContrast: true,
  defaultRadius: 'sm',
  fontFamily: 'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, "Cascadia Mono", Menlo, Consolas, monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '1.25rem' }, h2: { fontSize: '0.9375rem' } } },
  respectReducedMotion: true,
  components: { Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } } },
})

/** Colours of states, dark enough on light and light enough on dark to be read as text (4.5 to 1). */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-anchor': '#2f4ac0',
    '--mantine-color-dimmed': '#5b6270',
    '--pbx-line': '#e3e6ec',
    '--pbx-panel': '#ffffff',
    '--pbx-ground': '#f6f7f9',
    '--pbx-hover': '#eef0f6',
    '--pbx-good': '#146c43',
    '--pbx-busy': '#2f4ac0',
    '--pbx-warn': '#8a4b00',
    '--pbx-bad': '#b3261e',
    '--pbx-calm': '#5b6270',
  },
  dark: {
    '--mantine-color-dimmed': '#a3a9b5',
    '--mantine-color-body': '#14161a',
    '--pbx-line': '#2c3038',
    '--pbx-panel': '#1a1d22',
    '--pbx-ground': '#14161a',
    '--pbx-hover': '#22262d',
    '--pbx-good': '#5fd39a',
    '--pbx-busy': '#9db0ff',
    '--pbx-warn': '#f0b35a',
    '--pbx-bad': '#ff9b91',
    '--pbx-calm': '#a3a9b5',
  },
})
