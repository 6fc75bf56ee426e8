/**
 * `npm run docs:screenshots`: draws each view of the dashboard with sample data, in the built page (`npm run build`). Run it after a change of the
 * page, and look at the pictures.
 */
import { type Browser, chromium } from 'playwright-core'
import { findChromium } from '../../../test/site/chromium.ts'
import { serveSamples } from './sample-server.ts'
import { nowMs } from './sample-views.ts'

interface Shot {
  readonly name: string
  readonly hash: string
  readonly isDark?: boolean
  readonly isPhone?: boolean
}

const object = '#/object?resource=databases.v1.example.com&namespace=shop&name=orders'

const shots: readonly Shot[] = [
  { name: 'overview', hash: '#/overview' },
  { name: 'overview-dark', hash: '#/overview', isDark: true },
  { name: 'objects', hash: '#/objects' },
  { name: 'object', hash: object },
  { name: 'object-phone', hash: object, isPhone: true, isDark: true },
  { name: 'handlers', hash: '#/handlers' },
  { name: 'requests', hash: '#/requests' },
  { name: 'webhooks', hash: '#/webhooks' },
  { name: 'problems', hash: '#/problems' },
]

const folder = process.argv[2] ?? 'docs/diagrams/dashboard'

await using server = await serveSamples('dist/dashboard')
const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
const browser = await chromium.launch({ executablePath: findChromium(), args })
try {
  for (const shot of shots) await draw(browser, shot)
} finally {
  await browser.close()
}

async function draw(browser: Browser, { name, hash, isDark = false, isPhone = false }: Shot): Promise<void> {
  const context = await browser.newContext({
    viewport: isPhone ? { width: 360, height: 760 } : { width: 1280, height: 800 },
    colorScheme: isDark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
    locale: 'en-GB',
  })
  const page = await context.newPage()
  await page.clock.setFixedTime(nowMs)
  await page.goto(`${server.url}/${hash}`)
  await page.locator('main h1').waitFor()
  await page.locator('.placeholder', { hasText: 'Loading' }).waitFor({ state: 'detached' })
  await page.screenshot({ path: `${folder}/${name}.png` })
  await context.close()
}
