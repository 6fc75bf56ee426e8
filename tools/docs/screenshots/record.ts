/**
 * `npm run docs:screenshots`: draws each view of the dashboard with sample data, in the built page (`npm run build`). Run it after a change of the
 * page, and look at the pictures.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
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

mkdirSync(folder, { recursive: true })
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
  const picture = await page.screenshot()
  const blank = await (await browser.newContext()).newPage()
  writeFileSync(`${folder}/${name}.webp`, await toWebp(blank, picture))
  await blank.context().close()
  await context.close()
}

/** A third of the size of a PNG. The browser has the encoder. */
async function toWebp(blank: Page, picture: Buffer): Promise<Buffer> {
  // A text: the types of the browser are not those of the tools.
  const url = await blank.evaluate<string>(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${picture.toString('base64')}'
    await image.decode()
    const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height })
    canvas.getContext('2d').drawImage(image, 0, 0)
    return canvas.toDataURL('image/webp', 0.86)
  })()`)
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
}
