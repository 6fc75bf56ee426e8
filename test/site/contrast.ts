/** Contrast ratios of the texts of a page by the rule of WCAG, from the computed styles of the browser. */
import type { Page } from 'playwright-core'

export interface Contrast {
  readonly text: string
  readonly place: string
  readonly color: string
  readonly background: string
  readonly ratio: number
  /** The required ratio: 4.5, or 3 for large text. */
  readonly needed: number
}

/** One result for each combination of colours and size, with its first text. */
export function readContrasts(page: Page): Promise<Contrast[]> {
  return page.evaluate(() => {
    type Color = [red: number, green: number, blue: number, alpha: number]

    function parse(text: string): Color {
      const [red = 0, green = 0, blue = 0, alpha = 1] = (text.match(/[\d.]+/g) ?? []).map(Number)
      return [red, green, blue, alpha]
    }

    function blend(over: Color, under: Color): Color {
      const mix = (index: 0 | 1 | 2) => over[index] * over[3] + under[index] * (1 - over[3])
      return [mix(0), mix(1), mix(2), 1]
    }

    function backgroundOf(element: Element): Color {
      const layers: Color[] = []
      for (let each: Element | null = element; each !== null; each = each.parentElement) {
        const color = parse(getComputedStyle(each).backgroundColor)
        layers.push(color)
        if (color[3] === 1) break
      }
      return layers.reduceRight((under, over) => blend(over, under), [255, 255, 255, 1])
    }

    function luminance([red, green, blue]: Color): number {
      const [r = 0, g = 0, b = 0] = [red, green, blue].map((value) => {
        const share = value / 255
        return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    const found = new Map<string, Contrast>()
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const text = node.textContent?.trim() ?? ''
      const element = node.parentElement
      if (text === '' || element === null || !element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }))
        continue
      const style = getComputedStyle(element)
      // Text with a gradient has no colour to compare.
      if (element.closest('script, style') !== null || style.webkitTextFillColor === 'rgba(0, 0, 0, 0)') continue
      const background = backgroundOf(element)
      const color = blend(parse(style.color), background)
      const [light = 0, dark = 0] = [luminance(color), luminance(background)].sort((a, b) => b - a)
      const size = Number.parseFloat(style.fontSize)
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
      const ratio = Math.round(((light + 0.05) / (dark + 0.05)) * 100) / 100
      const place = `${element.tagName.toLowerCase()}.${element.className}`
      const contrast = {
        text: text.slice(0, 40),
        place,
        color: style.color,
        background: String(background),
        ratio,
        needed: isLarge ? 3 : 4.5,
      }
      const key = `${style.color} ${background} ${isLarge} ${element.tagName}`
      if (!found.has(key)) found.set(key, contrast)
    }
    return [...found.values()]
  })
}
