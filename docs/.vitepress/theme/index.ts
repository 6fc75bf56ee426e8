import DefaultTheme from 'vitepress/theme'
import './style.css'

// biome-ignore lint/style/noDefaultExport: vitepress looks for it.
export default DefaultTheme
