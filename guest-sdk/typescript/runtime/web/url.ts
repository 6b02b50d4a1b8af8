/** `URL` and `URLSearchParams`. */
import 'core-js/actual/url';
import 'core-js/actual/url-search-params';
