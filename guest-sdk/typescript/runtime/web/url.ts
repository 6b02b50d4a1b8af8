/** `URL` and `URLSearchParams`, where the engine has none. */
import 'core-js/actual/url';
import 'core-js/actual/url-search-params';
