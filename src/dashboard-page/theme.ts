/** The colour scheme: that of the system, or the choice of the user, which the browser remembers. */
import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const key = 'kopf-dashboard-theme'
const order: readonly Theme[] = ['system', 'light', 'dark']

export const theme = signal<Theme>('system')

/** Called before the first rendering, so that the page does not change its colours while it loads. */
export function startTheme(): void {
  theme.value = readStored()
  theme.subscribe((value) => {
    document.documentElement.dataset['theme'] = value
    try {
      localStorage.setItem(key, value)
    } catch {
      // The browser refuses storage, for example in a private window: the choice lasts until the page is closed.
    }
  })
}

function readStored(): Theme {
  try {
    return order.find((one) => one === localStorage.getItem(key)) ?? 'system'
  } catch {
    return 'system'
  }
}

export function nextTheme(): void {
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length]!
}
